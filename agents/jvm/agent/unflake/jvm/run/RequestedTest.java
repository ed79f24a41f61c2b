package unflake.jvm.run;

/** A test and its position in the requested order. */
public final class RequestedTest {
    public final int index;
    public final String key;

    public RequestedTest(int index, String key) {
        this.index = index;
        this.key = key;
    }
}
