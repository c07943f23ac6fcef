// The arguments, key=value each. A value that cannot be used ends the program with status 2 and one line; unknown keys
// are ignored.
#pragma once

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <iostream>
#include <map>
#include <string>
#include <string_view>

class Settings {
public:
    static constexpr std::int64_t most = 1'000'000'000;

    Settings(int count, char** arguments)
    {
        for (int i = 1; i < count; ++i) {
            const std::string_view argument = arguments[i];
            const auto equals = argument.find('=');
            given_[std::string(argument.substr(0, equals))] =
                equals == argument.npos ? "" : std::string(argument.substr(equals + 1));
        }
    }

    // The value of a key; empty where it is missing.
    std::string text(const std::string& key) const
    {
        const auto found = given_.find(key);
        return found == given_.end() ? "" : found->second;
    }

    // Without a default the key must be there.
    std::int64_t whole_number(const std::string& key, std::int64_t least, std::int64_t greatest) const
    {
        const auto value = text(key);
        std::int64_t number = -1;
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
        if (error != std::errc{} || end != value.data() + value.size() || value[0] == '-' || number < least ||
            number > greatest)
            refuse(key, "a whole number from " + std::to_string(least) + " to " + std::to_string(greatest));
        return number;
    }

    std::int64_t whole_number(const std::string& key, std::int64_t least, std::int64_t greatest,
                              std::int64_t otherwise) const
    {
        return given_.contains(key) ? whole_number(key, least, greatest) : otherwise;
    }

    // The first choice is the default.
    std::string one_of(const std::string& key, std::initializer_list<std::string_view> choices) const
    {
        return given_.contains(key) ? needed(key, choices) : std::string(*choices.begin());
    }

    std::string needed(const std::string& key, std::initializer_list<std::string_view> choices) const
    {
        const auto value = text(key);
        std::string wanted;
        for (const auto choice : choices) {
            if (value == choice)
                return value;
            wanted += (wanted.empty() ? "" : " or ") + std::string(choice);
        }
        refuse(key, wanted);
    }

    bool flag(const std::string& key) const { return one_of(key, {"0", "1"}) == "1"; }

    [[noreturn]] void refuse(const std::string& key, const std::string& wanted) const
    {
        std::cerr << key << " must be " << wanted << ", not \"" << text(key).substr(0, 40) << "\"\n";
        std::_Exit(2);
    }

private:
    std::map<std::string, std::string> given_;
};

using Clock = std::chrono::steady_clock;

inline std::int64_t nanoseconds(Clock::duration duration)
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

// Writes a protocol line at once.
template <typename... Parts> void report(const Parts&... parts)
{
    (std::cout << ... << parts) << '\n' << std::flush;
    if (!std::cout) {
        std::cerr << "cannot write to stdout\n";
        std::_Exit(1);
    }
}
