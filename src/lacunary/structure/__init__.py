"""Finding the graph as well: moves, searches, scores that fall apart into families."""
