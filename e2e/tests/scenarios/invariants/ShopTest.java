package com.acme;

import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import org.junit.jupiter.api.Test;

/** Calls each method forty times in the first run and never in the second. */
class ShopTest {
    private static int calls(String name) throws IOException {
        return new File("../done-" + name).createNewFile() ? 40 : 0;
    }

    @Test
    void sign() throws IOException {
        for (int i = 0, n = calls("sign"); i < n; i++) {
            Shop.sign(i - 20);
        }
    }

    @Test
    void twice() throws IOException {
        for (int i = 0, n = calls("twice"); i < n; i++) {
            Shop.twice(i);
        }
    }

    @Test
    void clamp() throws IOException {
        for (int i = 0, n = calls("clamp"); i < n; i++) {
            Shop.clamp(i - 20, 0, 5);
        }
    }

    @Test
    void constant() throws IOException {
        for (int i = 0, n = calls("constant"); i < n; i++) {
            Shop.constant(i % 2 == 0 ? "a" : "b");
        }
    }

    @Test
    void find() throws IOException {
        for (int i = 0, n = calls("find"); i < n; i++) {
            Shop.find(i);
        }
    }

    @Test
    void nothing() throws IOException {
        for (int i = 0, n = calls("nothing"); i < n; i++) {
            Shop.nothing(i % 2);
        }
    }

    @Test
    void span() throws IOException {
        for (int i = 0, n = calls("span"); i < n; i++) {
            Shop.span(i, i + 1 + i % 3);
        }
    }

    @Test
    void size() throws IOException {
        for (int i = 0, n = calls("size"); i < n; i++) {
            Shop.size(new ArrayList<>(Collections.nCopies(i % 4, 7)));
        }
    }

    @Test
    void average() throws IOException {
        for (int i = 0, n = calls("average"); i < n; i++) {
            Shop.average(i / 4.0, i / 2.0 + 1);
        }
    }

    @Test
    void deposit() throws IOException {
        Shop.Account account = new Shop.Account();
        for (int i = 0, n = calls("deposit"); i < n; i++) {
            account.deposit(1 + i % 5);
        }
    }
}
