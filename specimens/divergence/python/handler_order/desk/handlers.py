HANDLERS = {"billing", "returns", "general"}
WORDS = {
    "billing": ["refund", "invoice"],
    "returns": ["refund", "parcel"],
    "general": ["opening hours"],
}


def fits(name, text):
    return any(word in text for word in WORDS[name])


def handler_for(text):
    for name in HANDLERS:
        if fits(name, text):
            return name
    return "general"
