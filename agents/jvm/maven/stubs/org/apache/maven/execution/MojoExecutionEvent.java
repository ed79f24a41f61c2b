package org.apache.maven.execution;

import org.apache.maven.plugin.Mojo;
import org.apache.maven.plugin.MojoExecution;
import org.apache.maven.project.MavenProject;

/** The used part of Maven's declaration; compiled against, not packaged. */
public class MojoExecutionEvent {
    public MavenProject getProject() {
        return null;
    }

    public MojoExecution getExecution() {
        return null;
    }

    public Mojo getMojo() {
        return null;
    }
}
