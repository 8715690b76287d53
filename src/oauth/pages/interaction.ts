import type { IncomingMessage, ServerResponse } from 'node:http'

/** The application that asks for a connection. */
export type AskingClient = {
  id: string
  /** As the client has it: anything. */
  name: string | undefined
  /** The host of the document that says what it is; undefined for one that registered. */
  publishedBy: string | undefined
}

/** What a client asks of a person, who is to sign in and to say yes or no. */
export type Interaction = {
  uid: string
  client: AskingClient
  /** Where the answer goes; proved to be the client's. */
  redirectUri: string
}

/** A browser's request for the page of an interaction. */
export type InteractionCall = { request: IncomingMessage; response: ServerResponse; uid: string }

/** Interactions under way, each known to the browser that it was begun in. */
export type Interactions = {
  /** Throws `not_found` where it is over, unknown, or another browser's. */
  look(call: InteractionCall): Promise<Interaction>
  /** Says yes, with the id of the connection's key; gives the address at which the browser goes on. */
  approve(call: InteractionCall, grantId: string): Promise<string>
  /** Says no; gives the address at which the browser goes on. */
  refuse(call: InteractionCall): Promise<string>
}
