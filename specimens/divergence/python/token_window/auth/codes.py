import hashlib
import hmac

from auth.clock import current_window


def code_for(secret):
    message = str(current_window()).encode()
    return hmac.new(secret, message, hashlib.sha256).hexdigest()[:6]


def is_good(secret, given):
    return hmac.compare_digest(given, code_for(secret))
