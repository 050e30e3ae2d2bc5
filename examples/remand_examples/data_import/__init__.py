"""A CSV file of 3 416 airports is split, validated in six parallel parts, joined and reported."""
