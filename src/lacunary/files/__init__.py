"""Networks as files: BIF, XMLBIF, Hugin NET and the native JSON."""
