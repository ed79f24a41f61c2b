package org.apache.maven.plugin;

/** The used part of Maven's declaration; compiled against, not packaged. */
public interface Mojo {
}
