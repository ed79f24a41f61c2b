package org.apache.maven.plugin;

/** The used part of Maven's declaration; compiled against, not packaged. */
public class MojoExecutionException extends Exception {
    public MojoExecutionException(String message) {
        super(message);
    }
}
