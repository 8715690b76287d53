import type { Invitations } from '../accounts/invitations.ts'
import type { Keys } from '../accounts/keys.ts'
import type { Members } from '../accounts/members.ts'
import type { PasswordLinks } from '../accounts/password-links.ts'
import type { Passkeys } from '../accounts/passkeys.ts'
import type { People } from '../accounts/people.ts'
import type { Operations } from '../http/contract-router.ts'
import { actorOf } from '../http/operation.ts'
import { passkeySiteOf, type PublicOrigin } from '../http/public-origin.ts'
import { createdSecret, ok } from './answers.ts'

/** Dependencies of the operations on people. */
export type PeopleParts = {
  people: People
  passkeys: Passkeys
  publicOrigin: PublicOrigin
  members: Members
  invitations: Invitations
  passwordLinks: PasswordLinks
  keys: Pick<Keys, 'list' | 'modelIds'>
}

/** The handlers of operations on people and on the members of an account. */
export function peopleOperations({ people, ...parts }: PeopleParts) {
  return {
    retrieveMe: async ({ caller }) => ok(await people.retrieve(caller.person.id)),
    updateMe: async (call) => {
      const { caller, body } = call
      const json =
        body.name === undefined
          ? await people.retrieve(caller.person.id)
          : await people.rename(caller, body.name, actorOf(call))
      return { status: 200, json }
    },
    changePassword: async (call) => {
      const { current_password: current, new_password: next } = call.body
      await people.changePassword(call.caller, { current, next }, actorOf(call))
      return { status: 204 }
    },
    ...passkeyOperations(parts),
    ...memberOperations(parts),
    ...invitationOperations(parts),
  } satisfies Partial<Operations>
}

function passkeyOperations({
  passkeys,
  publicOrigin,
}: Pick<PeopleParts, 'passkeys' | 'publicOrigin'>) {
  return {
    listPasskeys: async ({ caller, query }) => ok(await passkeys.list(caller, query)),
    startPasskey: async ({ caller, body, request }) => {
      const site = passkeySiteOf(publicOrigin, request)
      return ok(await passkeys.start(caller, body.current_password, site))
    },
    createPasskey: async (call) => {
      const place = { site: passkeySiteOf(publicOrigin, call.request), actor: actorOf(call) }
      return { status: 201, json: await passkeys.create(call.caller, call.body, place) }
    },
    deletePasskey: async (call) => {
      await passkeys.remove(call.caller, call.path.id, actorOf(call))
      return { status: 204 }
    },
  } satisfies Partial<Operations>
}

function memberOperations({ members, passwordLinks, keys }: Omit<PeopleParts, 'people'>) {
  return {
    listMembers: async ({ caller, query }) => ok(await members.list(caller, query)),
    updateMember: async (call) => {
      const change = { change: call.body, actor: actorOf(call), modelIds: keys.modelIds }
      return ok(await members.update(call.caller, call.path.id, change))
    },
    removeMember: async (call) => {
      const { id } = call.path
      const { accountId } = call.caller
      await members.remove(call.caller, id, actorOf(call))
      // The removed member's keys stay valid, so the response lists them.
      const page = { limit: 100, order: 'desc' } as const
      const left = await keys.list({ accountId, createdBy: id, state: 'active' }, page)
      return { status: 200, json: { id, object: 'removed_member', keys: left } }
    },
    leaveAccount: async (call) => {
      await members.leave(call.caller, call.path.id, actorOf(call))
      return { status: 204 }
    },
    createPasswordLink: async (call) =>
      createdSecret(await passwordLinks.create(call.caller, call.path.id, actorOf(call))),
  } satisfies Partial<Operations>
}

function invitationOperations({ invitations, keys }: Pick<PeopleParts, 'invitations' | 'keys'>) {
  return {
    listInvitations: async ({ caller, query }) =>
      ok(await invitations.list(caller.accountId, query)),
    inviteMember: async (call) => {
      const by = { actor: actorOf(call), modelIds: keys.modelIds }
      return createdSecret(await invitations.create(call.caller, call.body, by))
    },
    withdrawInvitation: async (call) => {
      await invitations.withdraw(call.caller, call.path.id, actorOf(call))
      return { status: 204 }
    },
  } satisfies Partial<Operations>
}
