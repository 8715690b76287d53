import { install } from 'undici'

/**
 * Node 24's own fetch ends the process when a peer closes a connection whose answer is not read
 * yet (https://github.com/nodejs/undici/issues/5360); that of the installed undici does not.
 */
install()
