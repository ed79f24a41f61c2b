#include "login.h"

#include <map>

namespace {

std::map<std::string, int>& wrong_passwords() {
    static std::map<std::string, int> wrong;
    return wrong;
}

}  // namespace

Answer login(const std::string& address, const std::string& user, const std::string& password) {
    int& wrong = wrong_passwords()[address];
    if (wrong >= 3) {
        return Answer::Locked;
    }
    if (user == "ana" && password == "tulip") {
        return Answer::Welcome;
    }
    ++wrong;
    return Answer::Wrong;
}
