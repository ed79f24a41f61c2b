package unflake.jvm.bytecode;

/** Why a class or method stays unchanged. */
public final class UnsupportedCodeException extends RuntimeException {
    private static final long serialVersionUID = 1;

    public UnsupportedCodeException(String reason) {
        super(reason, null, false, false);
    }

    @Override
    public String toString() {
        return getMessage();
    }
}
