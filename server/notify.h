/* Tells systemd how the service stands (Type=notify, Type=notify-reload): a datagram to the socket
 * named in NOTIFY_SOCKET. Without one nothing happens. */
#ifndef NOTIFY_H
#define NOTIFY_H

void notify_ready(void);
void notify_reloading(void);
void notify_stopping(void);

#endif
