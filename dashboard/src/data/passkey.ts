import { bodyOf, POST, Refusal, type Schemas } from './api.ts'
import { enter, forget, signedIn } from './session.ts'

/** Whether the browser has passkeys at this address. */
export const offersPasskeys =
  typeof PublicKeyCredential === 'function' && 'parseCreationOptionsFromJSON' in PublicKeyCredential

/** Makes a passkey after the password was checked, and stores it under a name. */
export async function addPasskey(name: string, password: string): Promise<void> {
  const body = { current_password: password }
  const { public_key: asked } = await bodyOf(POST('/api/me/passkeys/options', { body }))
  // The gateway makes these options as the browser reads them.
  const options = asked as unknown as PublicKeyCredentialCreationOptionsJSON
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options)
  const credential = await jsonOf<Schemas['PasskeyAttestation']>(
    navigator.credentials.create({ publicKey }),
    'This device, or its password manager, already has a passkey of yours for this gateway.',
  )
  await bodyOf(POST('/api/me/passkeys', { body: { name, credential } }))
}

/** Signs in with the passkey that the person chooses. */
export async function enterWithPasskey(): Promise<void> {
  const { public_key: asked } = await bodyOf(POST('/api/sessions/passkey/options'))
  const options = asked as unknown as PublicKeyCredentialRequestOptionsJSON
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options)
  const body = await jsonOf<Schemas['PasskeyAssertion']>(navigator.credentials.get({ publicKey }))
  const entered = await bodyOf(POST('/api/sessions/passkey', { body }))
  if (signedIn.value && signedIn.value.person.id !== entered.person.id) {
    // Nothing of the page of another person may stay.
    forget()
    location.reload()
  } else enter(entered)
}

const noPasskey =
  'The browser got no passkey: it was cancelled, took too long, or none fits. Try again.'

/** The browser's answer as JSON. Throws a Refusal that says what to do. */
async function jsonOf<Answer>(
  asked: Promise<Credential | null>,
  invalidState = noPasskey,
): Promise<Answer> {
  const credential = await asked.catch((error: unknown) => {
    const { name = '' } = error instanceof Error ? error : {}
    const text =
      { InvalidStateError: invalidState, NotAllowedError: noPasskey }[name] ??
      `The browser allows no passkey here: ${String(error)}`
    throw new Refusal(text, { status: 0 })
  })
  // Only credentials of this type were asked for.
  return (credential as PublicKeyCredential).toJSON() as Answer
}
