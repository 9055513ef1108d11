// The widget's icons: paths of 24 × 24 units, drawn with strokes in the color of the text.

const PATHS = {
  chat: "M21 11.5a8.4 8.4 0 0 1-12.2 7.5L3 21l2-5.8A8.4 8.4 0 1 1 21 11.5Z",
  close: "M6 6l12 12M18 6L6 18",
  send: "M12 19V5M5 12l7-7 7 7",
  stop: "M8 8h8v8H8z",
  fresh: "M12 5v14M5 12h14",
  copy: "M9 9h10v11H9zM5 15V4h10",
  done: "M5 12.5l4.5 4.5L19 7.5",
  up: "M7 11v9H4v-9zM7 11l4-8a2.5 2.5 0 0 1 2.5 3L13 9h5.5a2 2 0 0 1 2 2.4l-1.3 7A2 2 0 0 1 17.200 20H7",
  down: "M17 13V4h3v9zM17 13l-4 8a2.5 2.5 0 0 1-2.500-3l.5-3H5.500a2 2 0 0 1-2-2.400l1.300-7A2 2 0 0 1 6.800 4H17",
  person: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM5 20a7 7 0 0 1 14 0",
  page: "M7 3h7l4 4v14H7zM14 3v4h4",
  down_arrow: "M12 5v14M6 13l6 6 6-6",
};

/** One icon; it says nothing to a screen reader, the button that holds it has the name. */
export function icon(document, name) {
  const space = "http://www.w3.org/2000/svg";
  const picture = document.createElementNS(space, "svg");
  picture.setAttribute("viewBox", "0 0 24 24");
  picture.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", PATHS[name]);
  picture.append(path);
  return picture;
}
