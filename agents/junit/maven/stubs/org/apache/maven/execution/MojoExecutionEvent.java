package org.apache.maven.execution;

import org.apache.maven.plugin.Mojo;
import org.apache.maven.plugin.MojoExecution;
import org.apache.maven.project.MavenProject;

/** As Maven declares it, as far as it is used; not part of what is packed. */
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
