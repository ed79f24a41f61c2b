import sys

KNOWN = {"soup", "summer", "cake"}


def tags_in(text):
    return {word for word in text.lower().split() if word in KNOWN}


if __name__ == "__main__":
    text = sys.stdin.read()
    print(" ".join(tags_in(text)))
