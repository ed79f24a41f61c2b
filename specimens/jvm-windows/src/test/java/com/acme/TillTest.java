package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.awt.Window;
import java.util.Arrays;
import java.util.Random;
import javax.swing.JButton;
import javax.swing.JFrame;
import javax.swing.JLabel;
import javax.swing.JPanel;
import javax.swing.SwingUtilities;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class TillTest {
    private JLabel sum;

    private void open(String offer) throws Exception {
        SwingUtilities.invokeAndWait(() -> {
            sum = new JLabel("0.00");
            JButton tea = new JButton("Tea");
            tea.setFocusable(false);
            tea.addActionListener(event -> sum.setText("2.50"));
            JPanel panel = new JPanel();
            panel.add(tea);
            panel.add(sum);
            panel.add(new JLabel(offer));
            JFrame frame = new JFrame("Till");
            frame.add(panel);
            frame.pack();
            frame.setVisible(true);
            tea.doClick(0);
        });
    }

    @BeforeEach
    void close() throws Exception {
        SwingUtilities.invokeAndWait(() -> Arrays.stream(Window.getWindows()).forEach(Window::dispose));
    }

    @Test
    void teaIsCharged() throws Exception {
        open("Today: scones");
        assertEquals("2.50", sum.getText());
    }

    @Test
    void offersChange() throws Exception {
        String[] offers = {"Today: scones", "Today: jam", "Today: honey", "Today: cream"};
        open(offers[new Random().nextInt(offers.length)]);
        assertEquals("2.50", sum.getText());
    }
}
