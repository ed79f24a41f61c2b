package unflake.lines;

/** Why a class or a method has to stay as it is. */
final class Refused extends RuntimeException {
    private static final long serialVersionUID = 1;

    Refused(String why) {
        super(why, null, false, false);
    }

    @Override
    public String toString() {
        return getMessage();
    }
}
