"""What a person sees: text, figures and the page."""
