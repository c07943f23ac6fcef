/** How a server begins and ends. */
final class Service {
    static final int BACKLOG = 4096;

    private Service() {}

    /** From now on SIGTERM and the end of stdin end the program with status 0, whatever is in progress. */
    static void endWhenTold() {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> Runtime.getRuntime().halt(0)));
        Input.whenEnded(() -> Runtime.getRuntime().halt(0));
    }

    static void ready(int port) {
        Output.report("::ready port=%d", port);
    }

    /** Ends the program where the port cannot be had. */
    static void refusePort(int port) {
        System.err.println("port must be one that is free, not " + port);
        System.exit(2);
    }
}
