import { install } from 'undici'

/**
 * Replaces Node's fetch with that of the installed undici. Node's fetch ends the process when a peer
 * closes a connection whose answer is not read yet (https://github.com/nodejs/undici/issues/5360).
 */
install()
