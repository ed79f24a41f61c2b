package com.acme;

final class Customer {
    final String name;
    final int age;

    Customer(String name, int age) {
        this.name = name;
        this.age = age;
    }
}
