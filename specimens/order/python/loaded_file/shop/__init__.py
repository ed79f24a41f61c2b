mode = "good"
