package com.acme;

/** Reads a property once, when the class is initialized. */
final class Settings {
    static final String MODE = System.getProperty("acme.mode", "live");
    static final int LIMIT = 3;

    private Settings() {
    }
}
