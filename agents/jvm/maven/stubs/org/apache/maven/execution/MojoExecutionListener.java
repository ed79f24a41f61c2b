package org.apache.maven.execution;

import org.apache.maven.plugin.MojoExecutionException;

/** The used part of Maven's declaration; compiled against, not packaged. */
public interface MojoExecutionListener {
    void beforeMojoExecution(MojoExecutionEvent event) throws MojoExecutionException;

    void afterMojoExecutionSuccess(MojoExecutionEvent event) throws MojoExecutionException;

    void afterExecutionFailure(MojoExecutionEvent event);
}
