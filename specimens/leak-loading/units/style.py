decimal_mark = "."
