-- The database server runs this once, when it is made. Each role writes schemas of its own and reads no others.
\getenv manager_password LEAGUE_MANAGER_PASSWORD
\getenv referee_password LEAGUE_REFEREE_PASSWORD
CREATE ROLE manager LOGIN PASSWORD :'manager_password';
CREATE ROLE referee LOGIN PASSWORD :'referee_password';
GRANT CREATE ON DATABASE :"DBNAME" TO manager, referee;
