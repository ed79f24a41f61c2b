user = None
token = None
language = "en"
