package com.acme;

import java.util.Random;

final class Customers {
    private static final String[] NAMES = {"Ada", "Bela", "Cleo", "Dora"};

    private Customers() {
    }

    static Customer anyCustomer() {
        Random random = new Random();
        String name = NAMES[random.nextInt(NAMES.length)];
        int age = 12 + random.nextInt(19);
        return new Customer(name, age);
    }
}
