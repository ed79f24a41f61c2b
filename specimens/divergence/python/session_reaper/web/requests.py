import time
import uuid


def load_profile(user):
    time.sleep(0.014)  # The database.
    return {"name": user.title()}


def handle(sessions, token):
    number = uuid.uuid4().hex
    if token not in sessions.entries:
        return "please sign in (%s)" % number
    profile = load_profile(sessions.entries[token].user)
    sessions.entries[token].visits += 1
    return "hello %s" % profile["name"]
