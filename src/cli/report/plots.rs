//! Bar charts as inline SVG.

use plotters::prelude::*;

use crate::error::{Error, Result};

/// Size of a chart in pixels.
const SIZE: (u32, u32) = (560, 260);
/// Bars of a chart; of more only the last ones are shown.
const MOST_BARS: usize = 31;

/// A chart of counts; `None` where there is nothing to show.
pub(super) fn bars(title: &str, counts: &[(String, usize)]) -> Result<Option<String>> {
    let counts = &counts[counts.len().saturating_sub(MOST_BARS)..];
    let most = counts.iter().map(|(_, count)| *count).max().unwrap_or(0);
    if most == 0 {
        return Ok(None);
    }
    let mut svg = String::new();
    draw(&mut svg, title, counts, most).map_err(|reason| Error::Input {
        path: title.to_owned(),
        reason: format!("the chart cannot be drawn: {reason}"),
    })?;
    Ok(Some(svg))
}

fn draw(svg: &mut String, title: &str, counts: &[(String, usize)], most: usize) -> std::result::Result<(), String> {
    let fault = |error: &dyn std::fmt::Display| error.to_string();
    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 16))
        .margin(8)
        .x_label_area_size(36)
        .y_label_area_size(44)
        .build_cartesian_2d((0..counts.len()).into_segmented(), 0..most + most.div_ceil(10))
        .map_err(|error| fault(&error))?;
    // Names are thinned out where there is no room for all.
    let every = counts.len().div_ceil(8).max(1);
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(counts.len())
        .x_label_formatter(&|at| match at {
            SegmentValue::CenterOf(at) if at % every == 0 => {
                counts.get(*at).map(|(name, _)| short(name)).unwrap_or_default()
            }
            _ => String::new(),
        })
        .label_style(("sans-serif", 11))
        .draw()
        .map_err(|error| fault(&error))?;
    chart
        .draw_series(counts.iter().enumerate().map(|(at, (_, count))| {
            let corners = [(SegmentValue::Exact(at), 0), (SegmentValue::Exact(at + 1), *count)];
            let mut bar = Rectangle::new(corners, RGBColor(64, 112, 180).filled());
            bar.set_margin(0, 0, 3, 3);
            bar
        }))
        .map_err(|error| fault(&error))?;
    area.present().map_err(|error| fault(&error))?;
    Ok(())
}

/// A name that fits below a bar.
fn short(name: &str) -> String {
    let name = name.strip_prefix("20").filter(|rest| rest.len() == 8).map_or(name, |rest| &rest[3..]);
    let mut short: String = name.replace('_', " ").chars().take(14).collect();
    if name.chars().count() > 14 {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_is_svg_and_nothing_is_no_chart() {
        let svg = bars("Turns a day", &[("2026-01-02".into(), 3), ("2026-01-03".into(), 1)]).unwrap().unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("Turns a day") && svg.contains("01-02"), "{svg}");
        assert_eq!(bars("x", &[("a".into(), 0)]).unwrap(), None);
        assert_eq!(bars("x", &[]).unwrap(), None);
    }

    #[test]
    fn names_in_a_chart_are_escaped() {
        let svg = bars("x", &[("<script>".into(), 1)]).unwrap().unwrap();
        assert!(!svg.contains("<script>"), "{svg}");
    }
}
