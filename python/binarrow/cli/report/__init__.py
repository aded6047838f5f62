"""The page of `binarrow stats --html`: `counts` collects the numbers, `page` writes the HTML."""
