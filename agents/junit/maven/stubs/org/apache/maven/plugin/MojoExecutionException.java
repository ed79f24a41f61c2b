package org.apache.maven.plugin;

/** As Maven declares it, as far as it is used; not part of what is packed. */
public class MojoExecutionException extends Exception {
    public MojoExecutionException(String message) {
        super(message);
    }
}
