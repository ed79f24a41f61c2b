#pragma once

#include <string>
#include <vector>

// MAILER_DRY_RUN=1 keeps mails from going out.
bool dry_run();

// MAILER_SENDER, or the shop.
std::string sender();

// Whether the mail went out.
bool deliver(const std::string& mail, std::vector<std::string>& transport);
