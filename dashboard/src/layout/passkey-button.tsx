import { enterWithPasskey, offersPasskeys } from '../data/passkey.ts'
import { useAct } from '../data/load.ts'
import { Failure } from '../elements/failure.tsx'

/** The button for sign-in with a passkey. Renders nothing if the gateway has no passkeys, or the browser does not support them. */
export function PasskeyButton({ areUsed }: { areUsed: boolean | undefined }) {
  const entering = useAct(enterWithPasskey)
  if (areUsed !== true || !offersPasskeys) return null
  return (
    <div class="passkey">
      <Failure error={entering.error} />
      <button
        type="button"
        class="plain"
        disabled={entering.isBusy}
        onClick={() => void entering.run()}
      >
        Sign in with a passkey
      </button>
    </div>
  )
}
