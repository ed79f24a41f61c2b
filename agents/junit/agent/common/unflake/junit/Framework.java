package unflake.junit;

import java.util.List;

/** A way to find and run tests. */
interface Framework {
    /** Takes in a test: the key by which it can be run again, its class and its method as Surefire names them. */
    interface Listing {
        void add(String key, String type, String method);
    }

    boolean owns(String key);

    void list(List<Class<?>> classes, Listing listing) throws Exception;

    /** Runs these in this order. Each is told to have begun and to have ended, or neither. */
    void run(List<Wanted> tests, Report report) throws Exception;
}
