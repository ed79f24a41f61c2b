import os


def dry_run():
    return os.environ.get("MAILER_DRY_RUN") == "1"


def sender():
    return os.environ.get("MAILER_SENDER", "shop@example.org")


def deliver(mail, transport):
    """Whether the mail went out."""
    if dry_run():
        return False
    transport.append((sender(), mail))
    return True
