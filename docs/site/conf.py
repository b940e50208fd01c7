# SPDX-License-Identifier: Apache-2.0
"""Sphinx's configuration of the documentation site: see README.md here."""

project = "Ingot"
copyright = "the authors of Ingot"
author = "the authors of Ingot"
extensions = ["myst_parser", "sphinx_design"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
html_theme = "furo"
html_title = "Ingot"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_search_summary = False  # it fetches pages, which a browser refuses to a file
html_theme_options = {"top_of_page_buttons": []}
