package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.text.DateFormat;
import java.text.SimpleDateFormat;
import java.time.LocalDate;
import java.util.Date;
import org.junit.jupiter.api.Test;

class SubscriptionTest {
    @Test
    void endsOnTheSameDayNextYear() {
        LocalDate today = LocalDate.now();
        assertEquals(today.getDayOfMonth(), today.plusYears(1).getDayOfMonth());
    }

    @Test
    void beganWithTheEpoch() {
        DateFormat format = new SimpleDateFormat("yyyy-MM-dd");
        assertEquals("1970-01-01", format.format(new Date(0)));
    }

    @Test
    void isInForce() {
        assertTrue(LocalDate.now().isAfter(LocalDate.of(2020, 1, 1)));
    }
}
