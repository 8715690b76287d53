import { bodyOf, PATCH, type Schemas } from '../../data/api.ts'
import { useAct } from '../../data/load.ts'
import { addressOf } from '../../data/place.ts'
import { accountQuery } from '../../data/session.ts'
import { Failure } from '../../elements/failure.tsx'
import { Said, useSaid } from '../../elements/said.tsx'

type Props = { account: Schemas['Account']; onChanged: () => void }

/** Whether jobs keep their prompts, and a button that changes it. */
export function Prompts({ account: { id, keeps_prompts: isKept }, onChanged }: Props) {
  const [said, say] = useSaid()
  const changing = useAct(async () => {
    const params = { path: { id }, query: accountQuery() }
    const body = { keeps_prompts: !isKept }
    await bodyOf(PATCH('/api/accounts/{id}', { params, body }))
    onChanged()
    say(isKept ? 'New jobs keep no prompt.' : 'New jobs keep their prompts.')
  })
  return (
    <section class="card">
      <h2>Prompts of pictures</h2>
      <Said said={said} />
      <Failure error={changing.error} />
      <p>
        {isKept
          ? 'Jobs keep their prompts until they expire. All members and keys of the account can read them'
          : 'Jobs keep no prompts. Kept prompts could be read by all members and keys of the account'}
        , for example on the page <a href={addressOf('/pictures')}>Pictures</a>.
      </p>
      <button
        type="button"
        class="plain"
        disabled={changing.isBusy}
        onClick={() => void changing.run()}
      >
        {isKept ? 'Stop keeping prompts' : 'Keep prompts'}
      </button>
    </section>
  )
}
