package com.acme;

import java.util.HashMap;
import java.util.Map;

/** Which version of a protocol a server speaks, asked once. */
public final class ProtocolSignature {
    private static final Map<String, Integer> CACHE = new HashMap<>();

    private ProtocolSignature() {
    }

    public static int versionOf(String protocol, int server) {
        return CACHE.computeIfAbsent(protocol, unknown -> server);
    }

    public static void resetCache() {
        CACHE.clear();
    }
}
