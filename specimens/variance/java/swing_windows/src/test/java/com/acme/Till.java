package com.acme;

import java.awt.Window;
import java.util.Arrays;
import java.util.Random;
import javax.swing.JButton;
import javax.swing.JFrame;
import javax.swing.JLabel;
import javax.swing.JPanel;
import javax.swing.SwingUtilities;

/** The window of a till. */
final class Till {
    private static final String[] OFFERS = {"scones", "jam", "honey", "cream", "butter", "crumpets", "shortbread", "fudge"};

    private JLabel sum;

    static String anyOffer() {
        Random random = new Random();
        return "Today: " + OFFERS[random.nextInt(OFFERS.length)] + " and " + OFFERS[random.nextInt(OFFERS.length)];
    }

    /** Shows the window, and charges a tea. */
    void open(String offer) throws Exception {
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

    String sum() {
        return sum.getText();
    }

    static void closeAll() throws Exception {
        SwingUtilities.invokeAndWait(() -> Arrays.stream(Window.getWindows()).forEach(Window::dispose));
    }
}
