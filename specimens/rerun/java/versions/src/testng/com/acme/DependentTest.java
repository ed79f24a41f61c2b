package com.acme;

import static org.testng.Assert.assertEquals;
import static org.testng.Assert.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.testng.annotations.AfterMethod;
import org.testng.annotations.DataProvider;
import org.testng.annotations.Test;

/** Tests that need others before them, and rows of data. */
public class DependentTest {
    private final List<String> steps = new ArrayList<String>();

    @AfterMethod
    public void tearDown() {
        steps.add("tear-down");
    }

    @Test(groups = "door")
    public void opens() {
        steps.add("open");
    }

    @Test(dependsOnMethods = "opens")
    public void enters() {
        assertTrue(steps.contains("open"));
        steps.add("enter");
    }

    @Test(dependsOnGroups = "door", dependsOnMethods = "enters")
    public void leaves() {
        assertTrue(steps.contains("enter"));
    }

    @DataProvider
    public Object[][] sums() {
        return new Object[][] {{1, 1, 2}, {1, 2, 3}, {2, 2, 5}};
    }

    @Test(dataProvider = "sums")
    public void adds(int one, int other, int sum) {
        assertEquals(one + other, sum);
    }
}
