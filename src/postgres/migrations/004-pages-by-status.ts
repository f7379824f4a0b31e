// Nothing to do: a filtered page costs PostgreSQL the same however many animals there are. It keeps the numbers of both
// databases alike.
export default 'select 1'
