package com.acme;

import java.util.ArrayList;
import java.util.List;

final class Till {
    private static final int ADULT = 18;
    final List<String> sold = new ArrayList<>();

    boolean sell(Customer customer, String product) {
        long began = System.nanoTime();
        if (product.equals("wine") && customer.age < ADULT) {
            return false;
        }
        sold.add(customer.name + " " + product);
        return System.nanoTime() >= began;
    }
}
