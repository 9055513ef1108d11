project = "Kettle"
extensions = []
html_theme = "basic"
html_copy_source = False
html_show_sphinx = False
copyright = "nobody"
