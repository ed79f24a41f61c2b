from blog.database import current


def title(number):
    return current().posts[number]


def slug(title):
    return "-".join(title.lower().split())
