package unflake.jvm.run;

/** A setting or test of the project that unflake does not run. The message names it. */
public final class UnsupportedProjectException extends RuntimeException {
    private static final long serialVersionUID = 1;

    public UnsupportedProjectException(String message) {
        super(message);
    }
}
