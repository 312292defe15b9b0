"""From a model and rows with holes to what the holes probably hold."""
