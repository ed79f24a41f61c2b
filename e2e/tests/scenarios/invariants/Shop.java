package com.acme;

import java.util.List;

/** Ten small methods, as in shop.py. */
public class Shop {
    public static int sign(int n) {
        return n < 0 ? -1 : n > 0 ? 1 : 0;
    }

    public static int twice(int n) {
        return 2 * n + 1;
    }

    public static int clamp(int n, int low, int high) {
        return Math.max(low, Math.min(n, high));
    }

    public static String constant(String text) {
        return "fixed";
    }

    public static String find(int n) {
        return n % 2 == 1 ? null : "t" + n;
    }

    public static Object nothing(int n) {
        return null;
    }

    public static int span(int low, int high) {
        return high - low;
    }

    public static int size(List<Integer> items) {
        return items.size();
    }

    public static double average(double a, double b) {
        return (a + b) / 2;
    }

    public static class Account {
        private int balance;

        public int deposit(int amount) {
            balance += amount;
            return balance;
        }
    }
}
